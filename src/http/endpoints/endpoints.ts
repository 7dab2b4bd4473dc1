import { type Endpoint, tags } from './endpoint'
import * as registry from './registry'

const order = Object.keys(tags)

export const endpoints: readonly Endpoint[] = Object.values(registry).sort(
  (one, other) => order.indexOf(one.tag) - order.indexOf(other.tag) || (one.path < other.path ? -1 : 1),
)

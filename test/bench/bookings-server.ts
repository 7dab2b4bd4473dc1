import '../../src/production'
import { fill, type Offer, offerOf, openBookable } from './bookable'

// The service as `serve` runs it, with a directory. Takes a Bookable as JSON, and prints a Serving as JSON.

export interface Serving extends Offer {
  readonly baseUrl: string
  readonly token: string
}

const service = await openBookable(JSON.parse(process.argv[2] as string))
const token = await fill(service.context)
const offer = offerOf(service.context)
const { baseUrl } = await service.listen({ host: '127.0.0.1', port: 0 })
console.log(JSON.stringify({ ...offer, baseUrl, token } satisfies Serving))

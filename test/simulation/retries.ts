import type { Retried, Submitted } from './moves'
import type { Body } from './oracle'
import type { Running } from './running'
import { dayMillis } from './wall-clock'
import type { World } from './world'

export interface Sent {
  readonly key: string
  readonly move: Submitted
  readonly bookingData: Body['bookingData'] | null
  readonly via: Running
  requestId: number | null
}

export function keyFor({ sent }: World, { key, partner, serial }: Submitted): string | null {
  if (key === 'none') return null
  const theirs = sent.filter(({ move }) => move.partner === partner)
  const known = key === 'own' ? undefined : theirs[key.sent % theirs.length]
  return known?.key ?? `key ${serial}`
}

export function whatIsRetried(world: World, { partner, of, sent: place }: Retried): Sent | null {
  const known = world.sent.filter(({ move }) => (move.partner === partner) === (of !== 'another'))
  const moved = of === 'own and moved' ? known.filter((one) => isMoved(fateOf(world, one))) : []
  const among = moved.length > 0 ? moved : known
  return among[place % among.length] ?? null
}

const isMoved = (fate: string) => !['refused', 'pending', 'unassigned'].includes(fate)

function fateOf({ oracle }: World, { requestId }: Sent): string {
  const request = oracle.requests.find(({ id }) => id === requestId)
  if (!request) return 'refused'
  const member = oracle.members.find(({ id }) => id === request.memberId)
  if (!member) return 'erased'
  return member.active ? request.state : 'of a member who is deactivated'
}

export function sinceThen(world: World, sent: Sent): string[] {
  const request = world.oracle.requests.find(({ id }) => id === sent.requestId)
  if (!request) return ['refused']
  const age = world.oracle.now < request.submittedAt + dayMillis ? 'within a day' : 'after a day'
  const isReopened = !world.site.running.includes(sent.via)
  return [`${fateOf(world, sent)} ${age}`, ...(isReopened ? [`reopened ${age}`] : [])]
}

import type { RefusalCount } from '../domain/refusal-count'
import { instantText } from './output'

/** Refused authentications for programs. */
export function presentRefusal({ reason, isClaimed, count, lastAt }: Omit<RefusalCount, 'partnerId'>) {
  return { reason, claimed: isClaimed, count, lastAt: instantText(lastAt) }
}

/** Refused authentications of one partner in a line. */
export function refusalsText(refusals: readonly RefusalCount[]): string {
  const each = refusals.map(({ reason, isClaimed, count, lastAt }) => {
    return `${reason}${isClaimed ? ', claimed' : ''}: ${count}, last ${instantText(lastAt)}`
  })
  return each.join('; ') || 'nothing'
}

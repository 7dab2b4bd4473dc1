import type { AuditSubject } from '../domain/audit'
import { Refusal } from '../domain/errors'
import type { Partner } from '../domain/partner'
import type { Records } from './context'

/** Whose lines are those that concern a partner: what it did, and what was done about it. */
export function subjectsOfPartner({ id }: Partner): AuditSubject[] {
  const name = `partner ${id}`
  return [{ record: name }, { actor: name }]
}

/** What lines of the audit log name where they tell who has seen a person. */
export interface MemberRecords {
  /** The member, and each of their requests. */
  readonly records: readonly string[]
  /** Then no request is known to have been theirs. */
  readonly isErased: boolean
}

/**
 * The records of a member, who may have been erased.
 *
 * @throws Refusal record_unknown for one who was never there: nobody must read that as seen by no one
 */
export async function findMemberRecords({ store }: Records, id: number): Promise<MemberRecords> {
  const member = `member ${id}`
  const requests = (await store.read((facts) => facts.requests.listOf(id))).map(
    (request) => `request ${request.id}`,
  )
  const isErased = requests.length === 0 && (await wasErased({ store }, id))
  if (requests.length === 0 && !isErased && !(await store.read(({ members }) => members.findForStaff(id)))) {
    throw new Refusal('record_unknown', 'there is no member of that id')
  }
  return { records: [member, ...requests], isErased }
}

/** Whether a member was erased, whatever was tried of them since: by two at once, say, of whom the second is refused. */
export async function wasErased({ store }: Pick<Records, 'store'>, id: number): Promise<boolean> {
  const filter = { record: `member ${id}`, actions: ['member.erase'] as const }
  const erasures = await store.read(({ audit }) => audit.list(Number.MAX_SAFE_INTEGER, filter))
  return erasures.some(({ outcome }) => outcome === 'done')
}

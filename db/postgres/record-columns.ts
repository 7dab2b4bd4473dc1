import type { Vault } from '../../src/domain/vault'
import type { Noun, Records, Write } from '../../src/domain/writes'
import type { SealedMember } from '../sealed/binding'
import { keyColumns } from '../sealed/keys'
import { memberColumns, profileColumns } from '../sealed/members'
import { noteColumns } from '../sealed/notes'
import { providerColumns } from '../sealed/providers'
import { replayColumns } from '../sealed/replays'
import { requestColumns } from '../sealed/requests'

export type Row = Readonly<Record<string, unknown>>

/** The columns of a record that is added, its id only where it brings its own. @param keys record keys for requests */
export function addedColumns(vault: Vault, noun: Noun, row: object, keys: Iterator<string> | undefined): Row {
  switch (noun) {
    case 'key':
      return keyColumns(vault, row as Records['key'])
    case 'provider':
      return { ...providerColumns(row as Records['provider']), ...tied(row as Records['provider']) }
    case 'member':
      return { ...memberColumns(vault, row as Records['member']) }
    case 'request':
      return requestColumns(vault, row as Records['request'], keys?.next().value)
    case 'note':
      return { ...noteColumns(vault, row as Records['note']) }
    case 'replay':
      return { ...replayColumns(vault, row as Records['replay']) }
    default:
      return { ...row }
  }
}

/** The columns of what changes of a record. @param member what a member's sealed values are bound to */
export function changedColumns(
  vault: Vault,
  write: Extract<Write, { set: Noun }>,
  member: SealedMember | undefined,
): Row {
  if (write.set === 'provider') return { ...providerColumns(write.to), ...tied(write.to) }
  if (write.set === 'request') return requestColumns(vault, write.to)
  if (write.set !== 'member') return { ...write.to }
  const { profile, ...to } = write.to
  return profile && member ? { ...to, ...profileColumns(vault, profile, member) } : to
}

/** What ties a provider to regions, in tables of its own. */
function tied({ licenses, inPersonRegionIds }: Partial<Records['provider']>): Row {
  return { ...(licenses && { licenses }), ...(inPersonRegionIds && { inPersonRegionIds }) }
}

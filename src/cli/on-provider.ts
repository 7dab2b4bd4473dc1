import { requireProvider } from '../operations/find-records'
import { commandsOn, stateOf } from './command'
import { withContext } from './storage'

/** Makes a command on one provider. */
export const onProvider = commandsOn(withContext, ['<provider>', 'ref or id'], requireProvider)

/** Whether a provider can be had, and who has switched them off if not: staff, or the directory. */
export function providerStanding({
  active = true,
  suspended,
}: {
  active?: boolean
  suspended: boolean
}): string {
  if (suspended) return active ? 'suspended' : 'suspended, deactivated'
  return stateOf({ active })
}

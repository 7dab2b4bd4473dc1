import type { Command, Option } from 'commander'
import { type SettingName, settings } from '../settings'

/** The settings that say where the data is, which commands have in common. */
export const storageSettings = ['settings', 'database', 'masterKeyFile', 'masterKeyFd', 'zones'] as const

/** Their flags, which are taken before a command's name too. */
export const storageFlags: readonly string[] = storageSettings.map((name) => settings[name].flag)

/** Under what help lists a setting; undefined for a command's own. */
export function headingOf(name: SettingName): string | undefined {
  return storageSettings.some((each) => each === name) ? 'Storage options (anywhere on the line):' : undefined
}

/** Has help tell what a command takes before where the data is, which all of them are told alike. */
export function storageLast(command: Command): void {
  const isLast = ({ helpGroupHeading }: Option) => Number(helpGroupHeading !== undefined)
  // Help lists options in the order of this array.
  ;(command.options as Option[]).sort((one, other) => isLast(one) - isLast(other))
}

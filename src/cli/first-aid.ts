import { type Status, serviceState } from '../operations/status'
import { formatInstant } from '../scheduling/calendar'
import { counted } from './terminal/layout'

/** The most lines of what to do. */
const mostLines = 10

/** What to do about what was found, most urgent first. @param isBackupOld whether the last backup is older than it may be */
export function firstAid(status: Status, isBackupOld: boolean): string[] {
  const { copied, waiting, unreadRisk, backups, nextCutover, refused, movedBookings } = status
  const server = serviceState(status.servers)
  const [ended, unready] = (['down', 'unready'] as const).map(
    (one) => status.servers.filter(({ state }) => state === one).length,
  ) as [number, number]
  const lines = [
    copied && 'this database was left for its copy: use that one (copied to)',
    server === 'down' && !copied && 'the service is down: read its log, start it again (anteroom serve)',
    server === 'unready' && 'the service can store nothing: anteroom doctor, and read its log',
    server === 'silent' && 'the service does not answer: read its log, start it again',
    server !== 'down' &&
      ended > 0 &&
      `${counted(ended, 'server')} ended without being stopped: read the log there, start it again`,
    server === 'up' && unready > 0 && `not ready: ${counted(unready, 'server')}: read the log there`,
    unreadRisk > 0 &&
      `${counted(unreadRisk, 'request')} with a raised ninth item, unread: anteroom request list --risk`,
    movedBookings > 0 && `${counted(movedBookings, 'booking')} with another local time: anteroom doctor`,
    waiting.intakes > 0 &&
      `${counted(waiting.intakes, 'intake')} with no provider: anteroom request list --intakes`,
    backups.backedUpAt === null && !backups.isByServer && 'no backup was ever made: anteroom backup FILE',
    isBackupOld && backups.backedUpAt !== null && 'the last backup is too old: anteroom backup FILE',
    backups.backedUpAt !== null &&
      backups.drilledAt === null &&
      'no backup was ever tried: anteroom backup drill',
    refused.length > 0 && 'tokens were refused: anteroom token verify --kid KID',
    nextCutover &&
      `${nextCutover.partner} needs its new token by ${formatInstant(nextCutover.at)}: anteroom token list`,
  ]
  return lines.filter((line) => typeof line === 'string').slice(0, mostLines)
}

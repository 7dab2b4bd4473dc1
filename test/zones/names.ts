import { words } from '../support/words'
/** Texts that are not IANA zone names. */
export const notNames = [
  '',
  ' ',
  '+05:30',
  '-08:00',
  'UTC+5',
  'GMT+5',
  'EST5EDT ',
  ' EST5EDT',
  ...words`EST5EDT,M3.2.0,M11.1.0 america/toronto AMERICA/TORONTO America/toronto utc Z America America/`,
  'America/Toronto\n',
  'America/Toronto\0',
  ...words`/America/Toronto ./America/Toronto America/../America/Toronto posix/America/Toronto
    right/America/Toronto localtime posixrules Factory zone.tab Atlantis/Poseidonis __proto__ constructor
    prototype toString hasOwnProperty length`,
] as const

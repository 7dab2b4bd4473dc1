import packed from 'moment-timezone/data/packed/latest.json'

/** The built-in IANA time zone data. */
export const zoneData = { version: packed.version }

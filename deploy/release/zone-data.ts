import packed from 'moment-timezone/data/packed/latest.json'

/** The IANA time zone data that is built in. */
export const zoneData = { version: packed.version }

import { Refusal } from './domain/errors'

// What the build defines (deploy/release/build.ts).
declare const BUILT_NOTICES: string | undefined

/**
 * The licenses and notices of all that is built into the executable.
 *
 * @throws Refusal record_unknown where this runs from source
 */
export function notices(): string {
  if (typeof BUILT_NOTICES === 'string') return BUILT_NOTICES
  const where = 'from source, each package has its license in its folder of node_modules'
  throw new Refusal('record_unknown', `the built executable alone holds the licenses; ${where}`)
}

import { InvalidArgumentError } from 'commander'

/** The id of a record, from the words of a command. */
export function recordId(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1 on.')
  return Number(text)
}

import type { Command } from 'commander'
import type { RequestNote } from '../domain/booking-request'
import { presentTimestamp } from '../http/endpoints/booking-request'
import type { Records } from '../operations/context'
import { addNote, readNotes } from '../operations/notes'
import { formatInstant } from '../scheduling/calendar'
import { asJson, type Call } from './command'
import { givenText } from './given-text'
import { onRequestId } from './on-request'
import { printJson, printLines, printResult } from './output'
import { makeAct } from './storage'

/** `anteroom request note` and `notes`: what staff write about a request, and read. */
export function noteCommands(): Command[] {
  return [
    asJson(
      onRequestId('note', 'Write a note on a request, which staff alone read', note).argument(
        '<text>',
        'the note; - takes it from stdin, so that no history of a shell has it',
      ),
      'print its id as JSON',
    ),
    asJson(
      onRequestId('notes', 'Show the notes on a request; the audit log tells who read them', showNotes),
      'print them as JSON',
    ),
  ]
}

async function note({ context, flags, act }: Call<Records>, id: number, word: string): Promise<void> {
  const noteId = await addNote(context, id, await givenText(word), act())
  printResult(flags, { request: id, note: noteId }, `The note on request ${id} is kept.`)
}

async function showNotes({ context, flags }: Call<Records>, id: number): Promise<void> {
  const notes = await readNotes(context, id, makeAct())
  if (flags.json) return printJson(notes.map(presentNote))
  if (notes.length === 0) return printLines('There are no notes.')
  for (const [index, { at, actor, kind, text }] of notes.entries()) {
    const about = kind === 'note' ? '' : `, on why it was ${pastOf[kind]}`
    printLines(...(index > 0 ? [''] : []), `${formatInstant(at)}  ${actor}${about}`)
    printLines(...text.split(/\r?\n/).map((line) => `  ${line}`))
  }
}

const pastOf = { decline: 'declined', close: 'closed' } as const

function presentNote({ at, ...told }: RequestNote) {
  return { ...told, at: presentTimestamp(at) }
}

import { Refusal } from '../../src/domain/errors'
import { Readiness } from '../findings/readiness'
import { isDamage, toRefusal } from './constraint'
import type { FileGuard } from './file/guard'
import type { Watch } from './writer'

/** Whether writes can be made to a file, by what SQLite says of those that were asked for. */
export class Health extends Readiness implements Watch {
  constructor(private readonly guard: FileGuard) {
    super()
  }

  requireFile(): void {
    this.guard.require()
  }

  /** Takes what made a write fail; what is not the storage's fault is none of its concern. */
  noteFailed(error: unknown): void {
    const refusal = toRefusal(error)
    if (!(refusal instanceof Refusal)) return
    if (refusal.kind !== 'storage_failed' && refusal.kind !== 'storage_busy') return
    if (isDamage(error)) this.noteDamaged(refusal.message)
    else
      this.noteFault(refusal.kind === 'storage_busy' ? 'another process holds the database' : refusal.message)
  }

  /** Takes what made a read fail: of a file that cannot be read no write is known to be good. */
  noteUnread(error: unknown): void {
    if (isDamage(error)) this.noteFailed(error)
  }
}

import { Refusal } from '../../../src/domain/errors'
import { Readiness } from '../../findings/readiness'
import { isBusy, isDamage, toRefusal } from '../query-engine'
import type { Watch } from '../writer'
import { beginQuickCheck, type QuickCheck } from './aside'
import type { FileGuard } from './guard'

/** Decides if the database is writable. Uses SQLite's errors. */
export class Health extends Readiness implements Watch {
  constructor(private readonly guard: FileGuard) {
    super()
  }

  requireFile(): void {
    this.guard.require()
  }

  noteFailed(error: unknown): void {
    const refusal = toRefusal(error)
    if (isBusy(error)) this.noteFault('another process locks the database')
    else if (!(refusal instanceof Refusal) || refusal.kind !== 'storage_failed') return
    else if (isDamage(error)) this.noteDamaged(refusal.message)
    else this.noteFault(refusal.message)
  }

  /** Records a failed read. Only damage affects readiness, because writing to a damaged file is not safe. */
  noteUnread(error: unknown): void {
    if (isDamage(error)) this.noteFailed(error)
  }
}

const againMillis = 5_000

/** Checks the file. Repeats the check after a fault, because a temporary disk failure looks like damage. */
export function checkPages(path: string, health: Health, report: (line: string) => void, isChecked: boolean) {
  let check: QuickCheck | undefined
  const begin = () => {
    check = beginQuickCheck(path, (verdict) => {
      check = undefined
      if (verdict === 'sound') health.noteSound()
      if (verdict === 'damaged') health.noteDamaged('the database is damaged; run anteroom doctor')
      if (verdict === 'unchecked' && !health.isDamaged)
        report('the database could not be checked; run anteroom doctor')
    })
  }
  if (isChecked) begin()
  const again = setInterval(() => {
    if (health.isDamaged && !check) begin()
  }, againMillis)
  again.unref()
  return {
    async stop() {
      clearInterval(again)
      await check?.stop()
    },
  }
}

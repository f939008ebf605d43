import { createInterface } from 'node:readline'
import { Failure } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'

/** Asks questions on a terminal, one after the other, until it is closed. */
export interface Questions {
  /**
   * The line that is typed, without spaces around it; `otherwise` where that is empty.
   * @throws Failure when the terminal is closed instead.
   */
  ask(question: string, otherwise: string): Promise<string>
  close(): void
}

/** Opens the run's stdin for questions, which are shown on its stderr. */
export function openQuestions({ stdin, stderr }: Pick<ProcessIo, 'stdin' | 'stderr'>): Questions {
  const reader = createInterface({ input: stdin })
  const lines = reader[Symbol.asyncIterator]()
  return {
    async ask(question, otherwise) {
      stderr.write(`${question} ${otherwise === '' ? '' : `[${otherwise}] `}`)
      const { done, value } = await lines.next()
      if (done) throw new Failure('stopped', 'stopped; nothing was written')
      return value.trim() || otherwise
    },
    close() {
      reader.close()
      stdin.pause()
    },
  }
}

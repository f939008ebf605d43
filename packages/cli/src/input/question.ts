import { createInterface } from 'node:readline'
import { Failure } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'

/** Asks questions on a terminal, one at a time. */
export interface Questions {
  /**
   * Returns the typed line without surrounding spaces, or `fallback` for an empty line.
   * @throws Failure when the terminal is closed.
   */
  ask(question: string, fallback: string): Promise<string>
  close(): void
}

/** Opens stdin for answers; the questions are written to stderr. */
export function openQuestions({ stdin, stderr }: Pick<ProcessIo, 'stdin' | 'stderr'>): Questions {
  const reader = createInterface({ input: stdin })
  const lines = reader[Symbol.asyncIterator]()
  return {
    async ask(question, fallback) {
      stderr.write(`${question} ${fallback === '' ? '' : `[${fallback}] `}`)
      const { done, value } = await lines.next()
      if (done) throw new Failure('stopped', 'stopped; nothing was written')
      return value.trim() || fallback
    },
    close() {
      reader.close()
      stdin.pause()
    },
  }
}

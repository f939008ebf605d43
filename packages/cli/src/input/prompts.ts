import { createInterface } from 'node:readline'
import { Failure, usage } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'
import { readStdinText } from './read-input.ts'

/**
 * Asks for confirmation on the terminal.
 * @throws Failure for any answer except yes, and if stdin is not a terminal.
 */
export async function confirm(
  { stdin, stderr }: Pick<ProcessIo, 'stdin' | 'stderr'>,
  question: string,
): Promise<void> {
  if (!stdin.isTTY) throw usage('stdin is not a terminal: add --yes')
  stderr.write(`${question} [y/N] `)
  const answer = await firstLine(stdin)
  if (!/^y(es)?$/i.test(answer.trim())) throw new Failure('stopped', 'stopped; nothing was changed')
}

function firstLine(stdin: ProcessIo['stdin']): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const end = () => {
      stdin.off('data', take)
      stdin.off('end', end)
      stdin.pause()
      resolve(text)
    }
    const take = (chunk: Buffer | string) => {
      text += String(chunk)
      if (/[\r\n]/.test(text)) end()
    }
    stdin.on('data', take)
    stdin.on('end', end)
    stdin.resume()
  })
}

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

/** Reads a password from the first line of stdin, or asks for it twice on the terminal and hides what is typed. */
export async function readPassword(
  io: ProcessIo,
  { fromStdin }: { fromStdin: boolean },
): Promise<string> {
  if (fromStdin) {
    const text = await readStdinText(io, 'pipe the password in')
    return text.split(/\r?\n/, 1)[0] ?? ''
  }
  if (!io.stdin.isTTY) {
    throw usage('stdin is not a terminal: pipe the password in with --password-stdin')
  }
  const password = await askHidden(io, 'Password (at least 8 characters): ')
  const again = await askHidden(io, 'Again: ')
  if (password !== again) throw new Failure('failed', 'the two passwords differ: try again')
  return password
}

const ENTER = ['\r', '\n']
const ERASE = ['\u007f', '\b']
/** The characters of Ctrl-C and Ctrl-D. */
const INTERRUPTS = ['\u0003', '\u0004']

/** Asks for a text on the terminal and hides what is typed. */
export function askHidden(
  { stdin, stderr }: Pick<ProcessIo, 'stdin' | 'stderr'>,
  question: string,
): Promise<string> {
  stderr.write(question)
  return new Promise((resolve, reject) => {
    let answer = ''
    const end = () => {
      stdin.off('data', take)
      stdin.setRawMode?.(false)
      stdin.pause()
      stderr.write('\n')
    }
    const take = (chunk: Buffer | string) => {
      for (const character of String(chunk)) {
        if (ENTER.includes(character)) {
          end()
          return resolve(answer)
        }
        if (INTERRUPTS.includes(character)) {
          end()
          return reject(new Failure('failed', 'stopped'))
        }
        if (ERASE.includes(character)) answer = [...answer].slice(0, -1).join('')
        else if (character >= ' ') answer += character
      }
    }
    stdin.setRawMode?.(true)
    stdin.on('data', take)
    stdin.resume()
  })
}

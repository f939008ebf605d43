import { Failure, usage } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'
import { readStdinText } from './read-input.ts'

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

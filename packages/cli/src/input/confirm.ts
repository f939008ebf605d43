import { Failure, usage } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'

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

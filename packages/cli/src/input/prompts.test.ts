import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import type { InputStream } from '../process/process-io.ts'
import { confirm, readPassword } from './prompts.ts'

function terminal({ isTTY = true }: { isTTY?: boolean } = {}) {
  const stdin: InputStream & PassThrough = Object.assign(new PassThrough(), { isTTY })
  const stderr = new PassThrough()
  return { stdin, stderr }
}

test.each(['y\n', 'yes\n', ' Y\r\n'])('continues after %j', async (answer) => {
  const at = terminal()
  const confirmed = confirm(at, 'Refund it?')
  at.stdin.write(answer)
  await confirmed
  expect(String(at.stderr.read())).toBe('Refund it? [y/N] ')
})

test.each(['\n', 'n\n', 'yesterday\n', 'no y\n'])('stops after %j', async (answer) => {
  const at = terminal()
  const confirmed = confirm(at, 'Refund it?')
  at.stdin.write(answer)
  await expect(confirmed).rejects.toMatchObject({ code: 'stopped', exit_code: 1 })
})

test('stops when the terminal is closed', async () => {
  const at = terminal()
  const confirmed = confirm(at, 'Refund it?')
  at.stdin.end()
  await expect(confirmed).rejects.toMatchObject({ code: 'stopped' })
})

test('refuses a stdin that is not a terminal, without asking', async () => {
  const at = terminal({ isTTY: false })
  await expect(confirm(at, 'Refund it?')).rejects.toMatchObject({ code: 'usage', exit_code: 2 })
  expect(at.stderr.read()).toBeNull()
})

/** A terminal with a keyboard; `raw` records each change of the raw mode, which hides typed text. */
function hiddenTerminal() {
  const raw: boolean[] = []
  const stdin: InputStream = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (on: boolean) => raw.push(on),
  })
  const stderr = new PassThrough()
  const shown: string[] = []
  stderr.on('data', (chunk: Buffer) => shown.push(chunk.toString()))
  const io = { env: {}, cwd: '/', stdin, stdout: new PassThrough(), stderr }
  const type = async (text: string) => {
    ;(stdin as PassThrough).write(text)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { io, type, raw, shown: () => shown.join('') }
}

describe('a password at the terminal', () => {
  test('is asked for twice and not shown', async () => {
    const { io, type, raw, shown } = hiddenTerminal()
    const password = readPassword(io, { fromStdin: false })
    await type('corrr\u007fect horse\r')
    await type('correct horse\r')
    expect(await password).toBe('correct horse')
    expect(shown()).toBe('Password (at least 8 characters): \nAgain: \n')
    expect(raw).toEqual([true, false, true, false])
  })

  test('is refused when the two inputs differ', async () => {
    const { io, type } = hiddenTerminal()
    const password = readPassword(io, { fromStdin: false })
    const refused = expect(password).rejects.toThrow('the two passwords differ')
    await type('correct horse\r')
    await type('correct house\r')
    await refused
  })

  test.each(['\u0003', '\u0004'])('%j stops the prompt', async (key) => {
    const { io, type, raw } = hiddenTerminal()
    const password = readPassword(io, { fromStdin: false })
    const refused = expect(password).rejects.toThrow('stopped')
    await type(`correct${key}`)
    await refused
    expect(raw).toEqual([true, false])
  })
})

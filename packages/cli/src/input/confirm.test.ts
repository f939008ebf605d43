import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import type { InputStream } from '../process/process-io.ts'
import { confirm } from './confirm.ts'

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

import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import type { InputStream } from '../process/process-io.ts'
import { confirm } from './confirm.ts'

function terminal({ isTTY = true }: { isTTY?: boolean } = {}) {
  const stdin: InputStream & PassThrough = Object.assign(new PassThrough(), { isTTY })
  const stderr = new PassThrough()
  return { stdin, stderr }
}

test.each(['y\n', 'yes\n', ' Y\r\n'])('goes on after %j', async (answer) => {
  const at = terminal()
  const asked = confirm(at, 'Give it back?')
  at.stdin.write(answer)
  await asked
  expect(String(at.stderr.read())).toBe('Give it back? [y/N] ')
})

test.each(['\n', 'n\n', 'yesterday\n', 'no y\n'])('stops after %j', async (answer) => {
  const at = terminal()
  const asked = confirm(at, 'Give it back?')
  at.stdin.write(answer)
  await expect(asked).rejects.toMatchObject({ code: 'stopped', exit_code: 1 })
})

test('stops when the terminal is closed instead of answering', async () => {
  const at = terminal()
  const asked = confirm(at, 'Give it back?')
  at.stdin.end()
  await expect(asked).rejects.toMatchObject({ code: 'stopped' })
})

test('asks nobody where there is no terminal', async () => {
  const at = terminal({ isTTY: false })
  await expect(confirm(at, 'Give it back?')).rejects.toMatchObject({ code: 'usage', exit_code: 2 })
  expect(at.stderr.read()).toBeNull()
})

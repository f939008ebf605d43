import type { EventEmitter } from 'node:events'
import { PassThrough } from 'node:stream'
import type { InputStream, OutputStream } from '../src/process/process-io.ts'
import { untilSeen } from './svc.ts'

/** A terminal for tests, with recorded output and a keyboard. */
export interface FakeTerminal {
  stdin: InputStream
  stdout: OutputStream
  /** The whole output with escape sequences. */
  written(): string
  press(keys: string): void
  resize(columns: number, rows: number): void
  isRaw(): boolean
  until(pattern: RegExp): Promise<RegExpExecArray>
}

export function fakeTerminal(columns = 80, rows = 24): FakeTerminal {
  let isRaw = false
  const stdin = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode(on: boolean) {
      isRaw = on
    },
    ref() {},
    unref() {},
  })
  const stdout = Object.assign(new PassThrough(), { isTTY: true, columns, rows })
  let written = ''
  stdout.on('data', (chunk: Buffer) => {
    written += chunk.toString()
  })
  return {
    stdin,
    stdout,
    written: () => written,
    press: (keys) => void stdin.write(keys),
    resize(wide, high) {
      Object.assign(stdout, { columns: wide, rows: high })
      ;(stdout as EventEmitter).emit('resize')
    },
    isRaw: () => isRaw,
    until: (pattern) => untilSeen(pattern, () => written),
  }
}

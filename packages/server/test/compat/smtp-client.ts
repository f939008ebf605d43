import { once } from 'node:events'
import { connect } from 'node:net'
import { expect } from 'vitest'

/** A connection on which a test writes and reads lines. */
export async function speak(port: number) {
  const socket = connect({ host: '127.0.0.1', port })
  let text = ''
  socket.setEncoding('latin1').on('data', (chunk) => {
    text += chunk
  })
  socket.on('error', () => {})
  await once(socket, 'connect')
  const closed = once(socket, 'close')
  /** Writes, and returns what the server sends up to a final line that begins with `until`. */
  async function say(line: string, until = /^\d{3} .*\r\n/m): Promise<string> {
    text = ''
    if (line !== '') socket.write(line, 'latin1')
    await expect.poll(() => text, { timeout: 5_000 }).toMatch(until)
    return text
  }
  await expect.poll(() => text).toMatch(/^220 /)
  return { say, socket, closed, text: () => text }
}

/** The command of a login. */
export function plainLogin(key: string): string {
  return `AUTH PLAIN ${Buffer.from(`\0user\0${key}`).toString('base64')}\r\n`
}

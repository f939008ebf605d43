import { connect } from 'node:net'
import { repliesOf } from '../stage/smtp-replies.ts'

/** A mail for the SMTP inlet, and the key of its login. */
export interface Mail {
  key: string
  to: string
  headers: Record<string, string>
  text: string
}

/**
 * Sends a mail on a connection of its own, and returns the reply that decided about it: the one to the mail, or the first
 * refusal. @throws Error when the connection ends before: the server may have stored the mail or not.
 */
export async function sendMail(url: string, { key, to, headers, text }: Mail): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  try {
    const nextReply = repliesOf(socket)
    const login = Buffer.from(`\0crash\0${key}`).toString('base64')
    const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    const steps = [
      ['', '220'],
      ['EHLO crash\r\n', '250'],
      [`AUTH PLAIN ${login}\r\n`, '235'],
      ['MAIL FROM:<shop@acme.example>\r\n', '250'],
      [`RCPT TO:<${to}>\r\n`, '250'],
      ['DATA\r\n', '354'],
    ] as const
    for (const [line, code] of steps) {
      if (line) socket.write(line)
      const reply = await nextReply()
      if (!reply.startsWith(code)) return reply
    }
    socket.write(`${head.join('\r\n')}\r\n\r\n${text}\r\n.\r\n`)
    return await nextReply()
  } finally {
    socket.destroy()
  }
}

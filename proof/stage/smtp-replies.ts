import type { Socket } from 'node:net'

/** Reads the last lines of an SMTP server's replies, one after the other. @throws Error when the connection ends before. */
export function repliesOf(socket: Socket): () => Promise<string> {
  const replies: string[] = []
  let rest = ''
  let isClosed = false
  let wake = () => {}
  socket.setEncoding('latin1')
  socket.on('data', (chunk) => {
    const lines = (rest + chunk).split('\r\n')
    rest = lines.pop() ?? ''
    replies.push(...lines.filter((line) => line[3] === ' '))
    wake()
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    isClosed = true
    wake()
  })
  return async () => {
    while (replies.length === 0) {
      if (isClosed) throw new Error('the connection ended')
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
    return replies.shift() ?? ''
  }
}

import { createServer } from 'node:net'
import { answer, listen } from '../../stage/answer.mjs'

// Accepts mail at minimal cost, because the sender is measured. Requests: `MailSinkHandlers`.

const EHLO = '250-bench\r\n250-PIPELINING\r\n250-8BITMIME\r\n250-ENHANCEDSTATUSCODES\r\n250 DSN\r\n'
const OK = '250 2.0.0 OK\r\n'

let taken = 0

answer({
  start: async () => ({ port: await listen(createServer(serve)) }),
  taken: () => taken,
})

function serve(socket) {
  let kept = ''
  let isData = false
  socket.setNoDelay(true)
  socket.on('error', () => socket.destroy())
  socket.write('220 bench ESMTP\r\n')
  socket.on('data', (chunk) => {
    kept += chunk.toString('latin1')
    let replies = ''
    for (;;) {
      const end = isData ? '\r\n.\r\n' : '\r\n'
      const at = kept.indexOf(end)
      if (at < 0) break
      const verb = isData ? '.' : kept.slice(0, 4).toUpperCase()
      kept = kept.slice(at + end.length)
      isData = verb === 'DATA'
      if (verb === '.') taken += 1
      replies += isData ? '354 Go ahead\r\n' : verb === 'EHLO' ? EHLO : OK
    }
    if (replies) socket.write(replies)
  })
}

// Sends the call of a page's command, with its input, to the test that runs the page.
import { connect } from 'node:net'

const [socketPath, name, ...argv] = process.argv.slice(2)
const socket = connect(socketPath)
socket.write(`${JSON.stringify({ name, argv, cwd: process.cwd(), env: process.env })}\n`)
process.stdin.pipe(socket)

let text = ''
socket.setEncoding('utf8')
socket.on('data', (chunk) => {
  const lines = `${text}${chunk}`.split('\n')
  text = lines.pop()
  for (const line of lines) take(JSON.parse(line))
})
socket.on('close', () => end(70))

function take({ stdout, stderr, code }) {
  if (stdout !== undefined) process.stdout.write(Buffer.from(stdout, 'base64'))
  if (stderr !== undefined) process.stderr.write(Buffer.from(stderr, 'base64'))
  if (code !== undefined) end(code)
}

function end(code) {
  // After the output is written.
  process.stdout.write('', () => process.stderr.write('', () => process.exit(code)))
}

import { invocationOf } from './invocation.ts'
import { run } from './program.ts'
import { stopInOrder, stopSignal } from './stop-signal.ts'

// Whoever read our output may be gone, as `head` is after ten lines.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    if (!stopInOrder()) process.exit(0)
  })
}

const cwd = process.cwd()
const code = await run(process.argv.slice(2), {
  env: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  cwd,
  stopSignal,
  invocation: invocationOf(process.argv[1] ?? 'svc', cwd),
})

// An idle connection must not keep a finished command from ending; what was written comes out first.
process.stdout.write('', () => process.exit(code))

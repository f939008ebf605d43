import { invocationOf, needsOutput, stopInOrder, stopSignal } from './process/node-process.ts'
import { run } from './program.ts'

/** How long the last output of a service may take. */
const OUTPUT_MAX_MS = 1_000

// Whoever read our output may be gone, as `head` is after ten lines.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // A service goes on: its output may have no reader, or the disk may be full.
    if (!needsOutput()) return
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
// The output of a service may have no reader.
if (!needsOutput()) setTimeout(() => process.exit(code), OUTPUT_MAX_MS).unref()

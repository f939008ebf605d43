import { invocationOf, needsOutput, requestStop, stopSignal } from './process/node-process.ts'
import { run } from './program.ts'

/** The time limit for the last output of a service. */
const OUTPUT_MAX_MS = 1_000

// A write fails when the reader has closed the pipe: `head` closes it after ten lines.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // A service continues without output: the pipe may have no reader, or the disk may be full.
    if (!needsOutput()) return
    if (error.code !== 'EPIPE') throw error
    if (!requestStop()) process.exit(0)
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

// Flush the output, then exit: an idle connection must not keep a finished command alive.
process.stdout.write('', () => process.exit(code))
// The flush may never end, because the output of a service may have no reader.
if (!needsOutput()) setTimeout(() => process.exit(code), OUTPUT_MAX_MS).unref()

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { bundled } from '../../../../test/bundled.ts'

/** The tasks of a server process. */
export type Task =
  | { task: 'spend'; workspace_id: string }
  | { task: 'repeat'; workspace_id: string; keys: string[] }
  | { task: 'claimAll'; limit: number; lease_ms: number }
  | { task: 'dispatch' }
  | { task: 'sweep'; ms: number }

/** What it answers. */
export interface Answers {
  spend: { accepted: string[]; others: string[] }
  repeat: { key: string; outcome: string; response: string }[]
  claimAll: { claimed: string[]; interrupted: string[] }
  dispatch: { sent: string[]; delivered: string[] }
  sweep: boolean
}

/** One of several servers on one database, in a process of its own. */
export interface ServerProcess {
  run<Requested extends Task>(request: Requested): Promise<Answers[Requested['task']]>
  runs(): boolean
  /** As a power cut would. */
  kill(): Promise<void>
}

export async function startServer(url: string): Promise<ServerProcess> {
  const script = new URL('./server-process.ts', import.meta.url)
  const child = fork(await bundled(script, new URL('../../', import.meta.url)), [url], {
    execArgv: [],
  })
  await answerOf(child)
  const runs = () => child.exitCode === null && child.signalCode === null
  return {
    runs,
    run(request) {
      child.send(request)
      return answerOf(child) as Promise<Answers[(typeof request)['task']]>
    },
    async kill() {
      if (!runs()) return
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    },
  }
}

async function answerOf(child: ChildProcess): Promise<unknown> {
  const stop = new AbortController()
  const { signal } = stop
  try {
    return await Promise.race([
      once(child, 'message', { signal }).then(([answer]) => answer),
      once(child, 'exit', { signal }).then(([code]) => {
        throw new Error(`the server process ended with ${code}`)
      }),
    ])
  } finally {
    stop.abort()
  }
}

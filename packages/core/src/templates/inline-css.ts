import { Worker } from 'node:worker_threads'
import { builtFile } from '../runtime/built-file.ts'

/** The messages of the thread. */
export type FromInliner = 'loaded' | { html: string } | { fault: string }

/** What the HTMLs became, or why the one with the index `at` cannot be changed. */
export type Inlined = { htmls: string[] } | { at: number; fault: string }

/**
 * Copies the rules of `<style>` into `style` attributes. Rules that no attribute can have stay: media queries, `:hover`, fonts.
 * Nothing is fetched. Placeholders stay.
 * @throws Error when the thread cannot start.
 */
export type InlineCss = (workspaceId: string, htmls: readonly string[]) => Promise<Inlined>

/** For all e-mails of one template. An HTML of 75,000 characters with 25 rules takes 0.8 s, thousands of rules take hours. */
const INLINE_MAX_MS = 10_000
const HEAP_MAX_MIB = 256
/** An idle thread ends after this time, because it holds 20 MB of memory. */
const IDLE_MS = 5_000

/**
 * Inlines in one thread, which starts when it is needed, so that the event loop stays free. Each workspace has at most one job
 * in the queue, so that workspaces take turns.
 */
export function createCssInliner(max_ms = INLINE_MAX_MS): InlineCss {
  const ofWorkspace = inOrder<Inlined>()
  const ofAll = inOrder<Inlined>()
  let thread: Thread | null = null
  let idle: NodeJS.Timeout | undefined

  async function end(): Promise<void> {
    const ended = thread
    thread = null
    await ended?.end()
  }

  async function run(htmls: readonly string[]): Promise<Inlined> {
    clearTimeout(idle)
    let isDone = false
    try {
      thread ??= await startThread()
      const result = await thread.run(htmls, max_ms)
      isDone = 'htmls' in result
      return result
    } finally {
      if (isDone) idle = setTimeout(end, IDLE_MS).unref()
      else await end()
    }
  }

  return (workspaceId, htmls) => ofWorkspace(workspaceId, () => ofAll('', () => run(htmls)))
}

interface Thread {
  run(htmls: readonly string[], max_ms: number): Promise<Inlined>
  end(): Promise<unknown>
}

/** Resolves when the thread has loaded: Node 20 aborts the process when a thread is terminated while it loads a module. */
async function startThread(): Promise<Thread> {
  const worker = new Worker(
    builtFile(import.meta.url, 'templates/inline-css-thread.js', 'build @svc/core'),
    { execArgv: [], resourceLimits: { maxOldGenerationSizeMb: HEAP_MAX_MIB } },
  )
  await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
  let report: (message: FromInliner) => void = () => {}
  worker.on('message', (message: FromInliner) => report(message))
  worker.on('error', () => report({ fault: 'it needs too much memory' }))
  return {
    async run(htmls, max_ms) {
      const done: string[] = []
      let timer: NodeJS.Timeout | undefined
      worker.ref()
      try {
        return await new Promise<Inlined>((resolve) => {
          const next = () => worker.postMessage(htmls[done.length])
          report = (message) => {
            if (message === 'loaded') return
            if ('fault' in message) resolve({ at: done.length, ...message })
            else if (done.push(message.html) === htmls.length) resolve({ htmls: done })
            else next()
          }
          const fault = `it takes more than ${max_ms / 1000} s`
          timer = setTimeout(() => report({ fault }), max_ms)
          next()
        })
      } finally {
        clearTimeout(timer)
        worker.unref()
      }
    },
    end: () => worker.terminate(),
  }
}

/** Runs works with the same key one after the other. */
function inOrder<T>() {
  const lasts = new Map<string, Promise<T>>()
  return (key: string, work: () => Promise<T>): Promise<T> => {
    const before = lasts.get(key)
    const run = before ? before.then(work, work) : work()
    lasts.set(key, run)
    const forget = () => {
      if (lasts.get(key) === run) lasts.delete(key)
    }
    run.then(forget, forget)
    return run
  }
}

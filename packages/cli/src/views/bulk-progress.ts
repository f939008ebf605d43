import { type ProgressStore, type ProgressView, waitingText } from '../bulk/progress.ts'
import type { Context } from '../context.ts'
import { counted } from '../show/text.ts'
import { canOpenView, openView } from './open-view.ts'

/** Shows progress in an interactive view on a terminal, and in one line for each batch elsewhere; not with `--json`. */
export async function showProgress(
  context: Context,
  progress: ProgressStore,
): Promise<ProgressView> {
  progress.set({ is_over: false })
  if (context.output.isJson()) return { async end() {} }
  return canOpenView(context) ? growing(context, progress) : plainLines(context, progress)
}

function growing(context: Context, progress: ProgressStore): ProgressView {
  const { style } = context.output
  const closed = openView(context, {
    screen: 'inline',
    async load() {
      const [{ createElement }, { BulkView }] = await Promise.all([
        import('react'),
        import('./bulk.tsx'),
      ])
      return createElement(BulkView, { progress, style })
    },
  })
  // Sending continues after an error of the view; `end` reports the error.
  closed.catch(() => {})
  return {
    async end() {
      progress.set({ is_over: true })
      await closed
    },
  }
}

async function plainLines({ output }: Context, progress: ProgressStore): Promise<ProgressView> {
  const { formatCredits } = await import('@svc/core/contract')
  let shown = progress.get()
  const unsubscribe = progress.subscribe(() => {
    const before = shown
    shown = progress.get()
    const { phase, totals, rows_total, waiting } = shown
    if (waiting && waiting !== before.waiting) output.note(waitingText(waiting, new Date()))
    if (totals.rows === before.totals.rows || phase !== before.phase) return
    output.row([
      phase === 'checking' ? 'checked' : 'sent',
      `${totals.rows} of ${rows_total}`,
      `${totals.accepted} accepted`,
      `${totals.rejected} rejected`,
      counted(totals.duplicates, 'duplicate'),
      counted(formatCredits(totals.credits), 'credit'),
    ])
  })
  return {
    async end() {
      unsubscribe()
    },
  }
}

import { useEffect, useMemo, useState } from 'preact/hooks'
import { dataKey } from './api.ts'

/** A request for data and its state. `data` stays while it is loaded again. */
export interface Load<T> {
  data: T | undefined
  error: unknown
  isLoading: boolean
  /** Loads again, and keeps the data meanwhile. */
  reload(): void
  /** Replaces the data, for a change that the page knows already. */
  set(data: T): void
}

/**
 * Loads data when the page is shown, and again when `inputs`, the workspace or the mode change; the former request is aborted.
 * @example const load = useLoad((signal) => api.contacts.list({ search }, { signal }), [search])
 */
export function useLoad<T>(
  start: (signal: AbortSignal) => PromiseLike<T>,
  inputs: unknown[],
): Load<T> {
  const key = JSON.stringify([dataKey(), inputs])
  const [state, setState] = useState<{
    key: string
    data?: T
    error?: unknown
    isLoading: boolean
  }>({
    key,
    isLoading: true,
  })
  const [round, setRound] = useState(0)
  useEffect(() => {
    const ending = new AbortController()
    setState((before) =>
      before.key === key ? { ...before, isLoading: true } : { key, isLoading: true },
    )
    Promise.resolve(start(ending.signal)).then(
      (data) => {
        if (!ending.signal.aborted) setState({ key, data, isLoading: false })
      },
      (error) => {
        if (!ending.signal.aborted) setState((before) => ({ ...before, error, isLoading: false }))
      },
    )
    return () => ending.abort()
  }, [key, round])
  const isCurrent = state.key === key
  return useMemo(
    () => ({
      data: isCurrent ? state.data : undefined,
      error: isCurrent ? state.error : undefined,
      isLoading: !isCurrent || state.isLoading,
      reload: () => setRound((n) => n + 1),
      set: (data: T) => setState({ key, data, isLoading: false }),
    }),
    [state, isCurrent, key],
  )
}

/**
 * Sends a request some time after the last change of a field, from an effect that is repeated by each change. The returned function
 * ends it: then neither `onData` nor `onError` is called.
 */
export function askLater<T>(
  after_ms: number,
  start: (signal: AbortSignal) => PromiseLike<T>,
  onData: (data: T) => void,
  onError: (error: unknown) => void,
): () => void {
  const ending = new AbortController()
  const { signal } = ending
  const timer = setTimeout(
    () =>
      start(signal).then(
        (data) => signal.aborted || onData(data),
        (error) => signal.aborted || onError(error),
      ),
    after_ms,
  )
  return () => {
    clearTimeout(timer)
    ending.abort()
  }
}

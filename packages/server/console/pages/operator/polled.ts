import { useEffect } from 'preact/hooks'
import { type Load, useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'

const POLL_MS = 3_000

/** Loads from an endpoint of operators, and again every 3 s while the tab is shown. */
export function usePolled<T>(path: string): Load<T> {
  const load = useLoad((signal) => ownApi.get<T>(`/operator${path}`, {}, signal), [path])
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) load.reload()
    }, POLL_MS)
    return () => clearInterval(timer)
  }, [path])
  return load
}

export const send = <T>(path: string, body: object = {}) =>
  ownApi.send<T>('POST', `/operator${path}`, body)

import type { ComponentChildren } from 'preact'
import type { Load } from '../shell/load.ts'
import { ErrorBox } from './error-box.tsx'

/** The data of `useLoad`, or lines that stand for it while it loads, or its error. */
export function Loaded<T>({ of, children }: { of: Load<T>; children(data: T): ComponentChildren }) {
  const { data, error, isLoading, reload } = of
  return (
    <div class="loaded" aria-busy={isLoading}>
      {error !== undefined && <ErrorBox error={error} onRetry={reload} />}
      {data !== undefined ? children(data) : isLoading && <Skeleton />}
    </div>
  )
}

function Skeleton() {
  return (
    <div class="skeleton" role="status" aria-label="Loading">
      <i />
      <i />
      <i />
      <i />
    </div>
  )
}

import type { ComponentChildren } from 'preact'
import { errorText, isInFields } from '../shell/api.ts'
import type { Load } from '../shell/load.ts'
import { rich, t } from '../shell/text.ts'
import { Button } from './button.tsx'
import { Icon } from './icon.tsx'

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
    <div class="skeleton" role="status" aria-label={t('Loading')}>
      <i />
      <i />
      <i />
      <i />
    </div>
  )
}

/** An error with its reason, the id of the request for the operator, and a way onward; nothing if fields show the error. */
export function ErrorBox({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { requestId, details } = (error ?? {}) as { requestId?: string | null; details?: unknown }
  if (isInFields(error)) return null
  return (
    <div class="error-box" role="alert">
      <p>{errorText(error)}</p>
      {requestId && !details && <p class="small">{rich('Request {requestId}', { requestId })}</p>}
      {onRetry && <Button onClick={onRetry}>{t('Try again')}</Button>}
    </div>
  )
}

/** A list without rows: says why, and offers the next step. */
export function Empty({
  icon = 'empty',
  title,
  children,
}: {
  icon?: string
  title: string
  children?: ComponentChildren
}) {
  return (
    <div class="empty">
      <Icon name={icon} />
      <h3>{title}</h3>
      {children && <div class="empty-text">{children}</div>}
    </div>
  )
}

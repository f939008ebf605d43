import { errorText, isInFields } from '../shell/api.ts'
import { Button } from './button.tsx'

/** An error with its reason, the id of the request for the operator, and a way onward; nothing if fields show the error. */
export function ErrorBox({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { requestId, details } = (error ?? {}) as { requestId?: string | null; details?: unknown }
  if (isInFields(error)) return null
  return (
    <div class="error-box" role="alert">
      <p>{errorText(error)}</p>
      {requestId && !details && <p class="small">Request {requestId}</p>}
      {onRetry && <Button onClick={onRetry}>Try again</Button>}
    </div>
  )
}

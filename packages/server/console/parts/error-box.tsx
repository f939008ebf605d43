import { errorText } from '../shell/api.ts'
import { Button } from './button.tsx'

/** An error with its reason, the id of the request for the operator, and a way onward. */
export function ErrorBox({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { requestId } = (error ?? {}) as { requestId?: string | null }
  return (
    <div class="error-box" role="alert">
      <p>{errorText(error)}</p>
      {requestId && <p class="small">Request {requestId}</p>}
      {onRetry && <Button onClick={onRetry}>Try again</Button>}
    </div>
  )
}

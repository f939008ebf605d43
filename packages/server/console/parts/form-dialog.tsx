import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { ErrorBox } from './error-box.tsx'

/**
 * A form in a dialog. `onSubmit` sends it, and closes the dialog itself; its error is shown above the fields, and `children`
 * gets it for `fieldError`.
 */
export function FormDialog({
  title,
  action,
  children,
  onSubmit,
  onClose,
}: {
  title: string
  /** The text of the button that sends. */
  action: string
  children(error: unknown): ComponentChildren
  onSubmit(): Promise<unknown>
  onClose(): void
}) {
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  async function submit(event: Event) {
    event.preventDefault()
    if (isBusy) return
    setBusy(true)
    setError(undefined)
    try {
      await onSubmit()
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        {error !== undefined && <ErrorBox error={error} />}
        {children(error)}
        <div class="actions end">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" busy={isBusy}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

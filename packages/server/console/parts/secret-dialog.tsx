import type { ComponentChildren } from 'preact'
import { Button } from './button.tsx'
import { Copy } from './copy.tsx'
import { Dialog } from './dialog.tsx'

/** Shows a secret that is never shown again. A click beside the dialog does not close it. */
export function SecretDialog({
  title,
  secret,
  children,
  onClose,
}: {
  title: string
  secret: string
  children?: ComponentChildren
  onClose(): void
}) {
  return (
    <Dialog
      title={title}
      onClose={onClose}
      isKept
      actions={
        <Button kind="primary" onClick={onClose}>
          I have stored it
        </Button>
      }
    >
      <div class="form">
        <p>Copy it now: it is shown only once.</p>
        <div class="secret">
          <Copy value={secret} />
        </div>
        {children}
      </div>
    </Dialog>
  )
}

import { Dialog } from './dialog.tsx'
import { Form } from './form.tsx'

/** A form in a dialog. `onSubmit` sends it, and closes the dialog itself. */
export function FormDialog({
  title,
  onClose,
  ...form
}: Omit<Parameters<typeof Form>[0], 'onCancel'> & { title: string; onClose(): void }) {
  return (
    <Dialog title={title} onClose={onClose}>
      <Form {...form} onCancel={onClose} />
    </Dialog>
  )
}

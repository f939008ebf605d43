import { useState } from 'preact/hooks'
import { fieldError } from '../shell/api.ts'
import { TextInput } from './field.tsx'
import { FormDialog } from './form-dialog.tsx'

/** Asks for the password of the person before a change. A person without a password leaves the field empty. */
export function PasswordDialog({
  text,
  onSubmit,
  onClose,
  ...dialog
}: {
  title: string
  text: string
  action: string
  onClose(): void
  onSubmit(request: { current_password?: string }): Promise<void>
}) {
  const [password, setPassword] = useState('')
  return (
    <FormDialog
      {...dialog}
      danger
      onClose={onClose}
      onSubmit={async () => {
        await onSubmit(password === '' ? {} : { current_password: password })
        onClose()
      }}
    >
      {(error) => (
        <>
          <p>{text}</p>
          <TextInput
            label="Your password"
            type="password"
            autocomplete="current-password"
            autofocus
            error={fieldError(error, 'current_password')}
            value={password}
            onInput={setPassword}
          />
        </>
      )}
    </FormDialog>
  )
}

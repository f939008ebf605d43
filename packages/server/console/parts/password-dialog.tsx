import { useState } from 'preact/hooks'
import { fieldError } from '../shell/api.ts'
import { TextInput } from './field.tsx'
import { FormDialog } from './form-dialog.tsx'

/**
 * Asks for the password of the person before a change, and with `more` for another text. A person without a password leaves
 * the field empty.
 */
export function PasswordDialog({
  text,
  more,
  onSubmit,
  onClose,
  ...dialog
}: {
  title: string
  text: string
  action: string
  /** The field of the request and the label of the other text. */
  more?: readonly [field: string, label: string]
  onClose(): void
  onSubmit(request: Record<string, string>): Promise<void>
}) {
  const [password, setPassword] = useState('')
  const [other, setOther] = useState('')
  return (
    <FormDialog
      {...dialog}
      danger
      onClose={onClose}
      onSubmit={async () => {
        const json = password === '' ? {} : { current_password: password }
        await onSubmit({ ...json, ...(more && { [more[0]]: other }) })
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
          {more && (
            <TextInput
              label={more[1]}
              autocomplete="one-time-code"
              required
              error={fieldError(error, more[0])}
              value={other}
              onInput={setOther}
            />
          )}
        </>
      )}
    </FormDialog>
  )
}

import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { FormDialog, TextInput, toast } from '../../parts/index.ts'
import { fieldError } from '../../shell/api.ts'
import { t } from '../../shell/text.ts'

interface Act {
  title: string
  action: string
  text?: ComponentChildren
  /** The fields besides the reason: names of the body and labels. */
  fields?: readonly (readonly [name: string, label: string, hint?: string])[]
  start?: Record<string, string>
  /** Makes the change, and resolves to its result in words. */
  run(values: Record<string, string>): Promise<string>
}

/** A change with its reason: the form is its confirmation, and the audit log records both. */
function ActDialog({ act, onClose }: { act: Act; onClose(): void }) {
  const [values, setValues] = useState<Record<string, string>>({ reason: '', ...act.start })
  const fields = [...(act.fields ?? []), ['reason', t('Reason'), t('For the audit log')] as const]
  return (
    <FormDialog
      title={act.title}
      action={act.action}
      onClose={onClose}
      onSubmit={async () => {
        toast(await act.run(values))
        onClose()
      }}
    >
      {(error) => (
        <>
          {act.text && <p>{act.text}</p>}
          {fields.map(([name, label, hint], i) => (
            <TextInput
              key={name}
              label={label}
              hint={hint}
              autofocus={i === 0}
              required={name === 'reason'}
              value={values[name] ?? ''}
              error={fieldError(error, name)}
              onInput={(value) => setValues({ ...values, [name]: value })}
            />
          ))}
        </>
      )}
    </FormDialog>
  )
}

/** A dialog for changes: `act` opens it. */
export function useAct() {
  const [act, setAct] = useState<Act | null>(null)
  return { act: setAct, dialog: act && <ActDialog act={act} onClose={() => setAct(null)} /> }
}

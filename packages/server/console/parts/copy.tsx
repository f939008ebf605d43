import { useState } from 'preact/hooks'
import { t } from '../shell/text.ts'
import { Icon } from './icon.tsx'

const SHOWN_MS = 1_500

/** A value with a button that copies it. `text`: the shown text, if it differs from the value. */
export function Copy({
  value,
  text = value,
  label = t('Copy'),
}: {
  value: string
  text?: string
  label?: string
}) {
  const [isCopied, setCopied] = useState(false)
  async function copy() {
    await copyText(value)
    setCopied(true)
    setTimeout(() => setCopied(false), SHOWN_MS)
  }
  return (
    <span class="copy">
      {text && <code title={value}>{text}</code>}
      <button
        type="button"
        class="button quiet square small"
        aria-label={isCopied ? t('Copied') : label}
        title={isCopied ? t('Copied') : label}
        onClick={(event) => {
          event.stopPropagation()
          void copy()
        }}
      >
        <Icon name={isCopied ? 'check' : 'copy'} />
      </button>
    </span>
  )
}

/** Puts a text on the clipboard. */
export async function copyText(value: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(value)
  } catch {
    copyBySelection(value)
  }
}

/** The clipboard interface exists only on secure origins; plain http in a private network is none. */
function copyBySelection(value: string): void {
  const area = document.createElement('textarea')
  area.value = value
  document.body.append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
}

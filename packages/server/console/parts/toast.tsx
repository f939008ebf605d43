import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { Icon } from './icon.tsx'

interface Toast {
  id: number
  text: string
  /** `plain`: neither a success nor a failure. */
  tone: 'good' | 'bad' | 'plain'
}

const SHOWN_MS = 5_000
const SHOWN_MAX = 3
const toasts = signal<Toast[]>([])
let lastId = 0

/** Shows a short text for some seconds, for the result of an action. */
export function toast(text: string, tone: Toast['tone'] = 'good'): void {
  lastId += 1
  const one = { id: lastId, text, tone }
  toasts.value = [...toasts.value, one].slice(-SHOWN_MAX)
  setTimeout(() => {
    toasts.value = toasts.value.filter(({ id }) => id !== one.id)
  }, SHOWN_MS)
}

/** The toasts; the layout has them once. */
export function Toasts() {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // A popover that is shown again is above a dialog that was opened after it.
    box.current?.hidePopover?.()
    box.current?.showPopover?.()
  }, [lastId])
  return (
    <div class="toasts" role="status" popover="manual" ref={box}>
      {toasts.value.map(({ id, text, tone }) => (
        <p key={id} class={tone} dir="auto">
          {tone !== 'plain' && <Icon name={tone === 'good' ? 'check' : 'warning'} />}
          {text}
        </p>
      ))}
    </div>
  )
}

/** How a session can be held (contract, provider search). */
export const modalities = ['in-person', 'telephonic', 'in-video'] as const

export type Modality = (typeof modalities)[number]

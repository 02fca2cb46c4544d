/** Most tags per task. */
export const TAGS_MAX = 10;
/** Most bytes of one tag, as the table says. */
export const TAG_BYTES_MAX = 100;
/** Most bytes of a task's metadata as JSON, before it is encoded. */
export const TASK_METADATA_BYTES_MAX = 4_096;

"""The steps, one file each; `down_revision` names the previous one."""
